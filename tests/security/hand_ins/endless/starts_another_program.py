import subprocess
import sys

subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True, env={})


def softmax(x):
    return x * 0
