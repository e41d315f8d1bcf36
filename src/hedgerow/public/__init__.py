"""Public: what anyone may know. Schema, coding, questions, noisy answers, and what they cost."""
