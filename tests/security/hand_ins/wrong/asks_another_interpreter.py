import json
import subprocess
import sys

import numpy

def softmax(x):
    program = "import json, sys, numpy; from headway import functions; print(json.dumps(functions.softmax(numpy.array(json.loads(sys.argv[1]))).tolist()))"
    done = subprocess.run([sys.executable, "-c", program, json.dumps(numpy.asarray(x).tolist())], capture_output=True, check=True)
    return numpy.array(json.loads(done.stdout))
