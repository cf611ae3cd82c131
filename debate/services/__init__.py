"""What changes debates: making them, holding them, importing recorded ones. Every rule of a debate is in `protocol`."""
