from caltest.cli import main
main()
