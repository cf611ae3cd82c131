"""Files that run inside the sandbox, beside the program. The site reads them as text and never imports them."""
