"""The audit log: who read, wrote and was refused what, in a chain that shows when somebody changed it afterwards."""
