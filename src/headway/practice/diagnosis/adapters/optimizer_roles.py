"""Operands of the constructor and of the methods of a learner's optimizer, by the names of their parameters."""

from __future__ import annotations

from headway.practice.exercise import Role

PARAMS = Role(
    "points",
    tuple(
        "params parameters model_params param parameter p w weights weight theta x variables model_parameters named_params point var weight_tensor layer layers model net network module tensors tensor_list weight_list param_list parameter_list".split()
    ),
)
GRADS = Role(
    "gradient",
    tuple(
        "grads gradients grad g dw dparams param_grad grad_wrt_w gradients_list dtheta derivatives gradient_tensor w_grads w_grad x_grad weight_grads".split()
    ),
)
SHAPES = Role("shapes", tuple("param_shapes parameter_shapes params_shapes shapes weight_shapes".split()))
PAIRED = Role(
    "points_with_gradients",
    tuple("params_grads params_and_grads param_grads param_grad_pairs parameters_and_gradients grads_and_vars grads_and_params".split()),
)
MEAN = Role("mean", tuple("m exp_avg first_moment moment1 m_t m_prev mu momentum mean1 avg".split()))
SQUARE = Role("square", tuple("v exp_avg_sq second_moment moment2 v_t v_prev nu velocity avg_sq s".split()))
MEAN_HAT, SQUARE_HAT = Role("mean_hat", ("m_hat", "mhat")), Role("square_hat", ("v_hat", "vhat"))
COUNT = Role("step", tuple("t step_t timestep step_num iteration steps i k step_count num_steps time_step n_step".split()))
STATE = Role("state", tuple("st opt_state optimizer_state optim_state adam_state opt config cfg optim_config".split()))
NAME = Role("name", tuple("param_name key layer_name idx index param_id var_name id_".split()))
BATCH_SIZE = Role("batch_size", ("batch", "num_examples"))
CLOSURE = Role("closure", ("loss", "cur_loss", "closure_fn"))
