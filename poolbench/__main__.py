"""`python -m poolbench`."""

from poolbench.cli import main

if __name__ == "__main__":
    main()
