"""The language server: verdicts as diagnostics, repairs as quick fixes (extra: lsp)."""
