"""Files of the operator's folders that an app uses: functions, models, and schemas of its messages."""

from cep.apps.compiler.own_calls import operator_files
from cep.apps.formats.schema_files import schema_digests
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_ends import app_ends
from cep.apps.language.app_tree import App


def app_files(app: App, terms: OperatorTerms) -> tuple[tuple[str, str], ...]:
    """Return each with a digest of its content. Raises AppTextError if one is missing, OSError if it cannot be read."""
    return (*operator_files(app, terms), *schema_digests(app_ends(app), terms.schemas))
