"""What is not read word by word in a text, for who looks at it before the parser does."""

QUOTED = r"\"\"\"[\s\S]*?\"\"\"|'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]+`"
COMMENT = r"--[^\n]*|/\*[\s\S]*?(?:\*/|\Z)"
