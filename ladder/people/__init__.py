"""Users, teams and tokens, what they may see (``permissions``), their quotas, the audit log.

``permissions.may_see`` decides about one resource; ``visibility`` says the same in SQL, for lists.
"""
