"""What is measured, one group a file: its cases are measured in turns."""
