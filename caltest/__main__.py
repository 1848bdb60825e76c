"""`python -m caltest`, the same as `caltest`."""

from caltest.cli import main

if __name__ == "__main__":
    main()
