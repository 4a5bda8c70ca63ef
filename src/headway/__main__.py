"""Run the command line as `python -m headway`."""

from headway.cli import main

if __name__ == "__main__":
    main()
