"""Users, teams, tokens, permissions, quotas and the audit log.

``permissions.may_see`` decides about one resource; ``visibility`` has the same rules in SQL for
lists.
"""
