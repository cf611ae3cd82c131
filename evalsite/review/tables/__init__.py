"""Tables that people bring: labels from elsewhere, questions with answers to review, annotations coming back. Pure.

Here belongs what turns the bytes of a CSV, XLSX or JSONL file into rows and says what is wrong with it, by sheet and
cell. What is stored of them is for the services.
"""
