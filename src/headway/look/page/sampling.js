// The sampling functions of headway.functions, on arrays of numbers. -Infinity marks tokens that are not kept.

/** @param {ArrayLike<number>} logits */
export function softmax(logits) {
  let largest = -Infinity;
  for (let each = 0; each < logits.length; each++) largest = Math.max(largest, logits[each]);
  const powers = Float64Array.from(logits, (logit) => Math.exp(logit - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}

/** @param {Float64Array} logits @param {(index: number) => boolean} isKept */
function keep(logits, isKept) {
  return logits.map((logit, index) => (isKept(index) ? logit : -Infinity));
}

/** @param {Float64Array} logits @param {number} temperature */
export function scaleByTemperature(logits, temperature) {
  return logits.map((logit) => logit / temperature);
}

/** @param {Float64Array} logits @param {number} topK */
export function keepTopK(logits, topK) {
  const sorted = Float64Array.from(logits).sort();
  const last = sorted[Math.max(sorted.length - topK, 0)];
  return keep(logits, (index) => logits[index] >= last);
}

/** @param {Float64Array} logits @param {number} topP */
export function keepTopP(logits, topP) {
  if (topP === 1) return logits;
  const probabilities = softmax(logits);
  const ascending = Float64Array.from(probabilities).sort();
  const mass = new Float64Array(ascending.length);
  ascending.reduce((sum, probability, index) => (mass[index] = sum + probability), 0);
  const least = (1 - topP) * mass[mass.length - 1];
  const first = mass.findIndex((each) => each > least);
  const threshold = ascending[first < 0 ? ascending.length - 1 : first];
  return keep(logits, (index) => probabilities[index] >= threshold);
}

/** @param {Float64Array} logits @param {number} minP */
export function keepMinP(logits, minP) {
  const probabilities = softmax(logits);
  const largest = probabilities.reduce((most, each) => Math.max(most, each), 0);
  return keep(logits, (index) => probabilities[index] >= minP * largest);
}

/** @typedef {{temperature: number, topK: number | null, topP: number | null, minP: number | null}} SamplingOptions */

/**
 * Return the probabilities that a request with these options samples from, in the engine's order. null leaves a filter out.
 * @param {Float64Array} logits @param {SamplingOptions} options
 */
export function distribution(logits, options) {
  if (options.temperature === 0) {
    const best = logits.reduce((found, logit, index) => (logit > logits[found] ? index : found), 0);
    return logits.map((_, index) => (index === best ? 1 : 0));
  }
  /** @type {Float64Array} */
  let kept = scaleByTemperature(logits, options.temperature);
  if (options.topK !== null) kept = keepTopK(kept, options.topK);
  if (options.topP !== null) kept = keepTopP(kept, options.topP);
  if (options.minP !== null) kept = keepMinP(kept, options.minP);
  return softmax(kept);
}

/** Return the index that a uniform number in [0, 1) chooses by these probabilities. @param {Float64Array} probabilities @param {number} uniform */
export function sampled(probabilities, uniform) {
  let [sum, last] = [0, 0];
  for (let index = 0; index < probabilities.length; index++) {
    if (!probabilities[index]) continue;
    sum += probabilities[index];
    last = index;
    if (sum > uniform) break;
  }
  return last;
}
