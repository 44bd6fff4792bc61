"""`python -m client`: the same as `halfbyte`, where no script of that name is within reach."""

from client.main import main

main()
