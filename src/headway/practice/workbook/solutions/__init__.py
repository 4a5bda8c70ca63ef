"""One readable way to write every part of the workbook, per array library."""
