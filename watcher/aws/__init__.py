"""What Reprieve asks of AWS's APIs, through boto3 (extra ``aws``), which only boto.py imports."""
