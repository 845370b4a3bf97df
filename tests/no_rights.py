"""Words before a command that take root's rights on networks and namespaces from it, as of any user."""

RIGHTS = "-sys_admin,-net_admin"
WITHOUT_RIGHTS = ("setpriv", f"--bounding-set={RIGHTS}", f"--inh-caps={RIGHTS}", "--")
