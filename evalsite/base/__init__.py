"""What every app shows pages with: formats, formulas, coloured code, rich text, forms. Knows no app."""
