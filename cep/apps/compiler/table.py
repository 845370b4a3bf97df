"""From a table's definition, and from what a query writes to it, to the parts that run."""

from collections.abc import Mapping
from typing import cast

from cep.apps.compiler.expression_code import ExpressionCompiler, function_of, row_function
from cep.apps.language.app_ends import KINDS
from cep.apps.language.app_tree import Assignment, DeleteFrom, InsertInto, TableDefinition, UpdateTable
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Expression, InTable, Place, ValueType
from cep.apps.parts.scope import (
    Code,
    Columns,
    Environment,
    RowScope,
    Scope,
    TableCode,
    TypedColumn,
    check_fits,
    columns_of,
    unknown,
)
from cep.apps.parts.tables import Changed, Meets, Table, TableWrite

_KEY, _INDEX = "primarykey", "index"
FITTING: Mapping[ValueType, tuple[ValueType, ...]] = {
    "long": ("int",),
    "float": ("int", "long", "double"),
    "double": ("int", "long", "float"),
    "decimal": ("int", "long"),
}
"""Types that a column takes besides its own. Siddhi takes any and leaves it as it is: a double in a column of ints."""


def table_of(definition: TableDefinition) -> Table:
    """Raise AppTextError, AppUnsupportedError."""
    columns, key = columns_of(definition.columns), list[int]()
    for annotation in definition.annotations:
        if annotation.name.lower() in KINDS:
            # a host's, and to the app a table like any other
            continue
        if annotation.name.lower() not in (_KEY, _INDEX):
            raise AppUnsupportedError(annotation.at, f"@{annotation.name} of a table is not supported yet")
        for item in annotation.items:
            places = [place for place, column in enumerate(columns) if column.name == item.value]
            if not places:
                names = [column.name for column in columns]
                raise unknown(annotation.at, f"there is no attribute {item.value!r}", item.value, names)
            key += places if annotation.name.lower() == _KEY else []
    return Table(columns, tuple(key))


def table_write(
    output: InsertInto | UpdateTable | DeleteFrom, table: Table, columns: Columns, environment: Environment
) -> TableWrite:
    """`columns`: of the query's rows. Raises AppTextError."""
    if isinstance(output, InsertInto):
        check_fits(output.at, output.target.name, table.columns, columns)
        return TableWrite(table)
    scope = table_scope(output.target.name, table, RowScope(columns, frozenset()))
    meets = _meets(output.on, scope, environment)
    if isinstance(output, DeleteFrom):
        return TableWrite(table, meets, deletes=True)
    if output.inserts_missing:
        check_fits(output.at, output.target.name, table.columns, columns)
    changed = _changed(output, table, columns, scope, environment)
    return TableWrite(table, meets, changed, inserts=output.inserts_missing)


def table_scope(name: str, table: Table, outer: Scope) -> RowScope:
    """Return a row of the table, by the table's name; other names are the outer ones, and then the table's."""
    return RowScope(table.columns, frozenset((name,)), "kept", outer=outer, is_named=True)


def in_table_code(tables: Mapping[str, Table], names: dict[str, object]) -> TableCode:
    """Return the Python of `condition in Table`; the tables get a name in `names`, which that Python uses."""

    def code(node: InTable, scope: Scope) -> Code:
        if node.table not in tables:
            raise unknown(node.at, f"there is no table {node.table!r}", node.table, list(tables))
        name = f"table_{len(names)}"
        table = names[name] = tables[node.table]
        condition = ExpressionCompiler(table_scope(node.table, table, scope)).condition_of(node.operand)
        return Code(f"{name}.has(lambda kept: {condition})", "bool")

    return code


def _meets(on: Expression | None, scope: RowScope, environment: Environment) -> Meets:
    condition = "True" if on is None else ExpressionCompiler(scope).condition_of(on)
    return cast(Meets, function_of(condition, "row, at, kept", environment))


def _changed(output: UpdateTable, table: Table, columns: Columns, scope: RowScope, environment: Environment) -> Changed:
    sources = [f"kept[{place}]" for place in range(len(table.columns))]
    if output.assignments:
        for one in output.assignments:
            place, code = _assigned(one, output, table, scope)
            sources[place] = code.source
    else:
        _check_named(output, table, columns)
        for place, column in enumerate(table.columns):
            given = [position for position, one in enumerate(columns) if one.name == column.name]
            sources[place] = f"row[{given[0]}]" if given else sources[place]
    return row_function(sources, "row, at, kept", environment)


def _check_named(output: UpdateTable, table: Table, columns: Columns) -> None:
    """Raise AppTextError if an update by name gives what the table has not, in name or in type, as Siddhi does."""
    if output.inserts_missing:
        return
    name, types = output.target.name, {column.name: column.type for column in table.columns}
    for one in columns:
        if one.name not in types:
            problem = f"{name!r} has no column {one.name!r}: write what changes after `set`"
            raise unknown(output.at, problem, one.name, list(types))
        if one.type != types[one.name]:
            problem = f"{one.name!r} of {name!r} is {types[one.name]}, and this query gives {one.type}"
            fits = one.type in FITTING.get(types[one.name], ())
            raise AppTextError(output.at, f"{problem}{f': write `set {name}.{one.name} = {one.name}`' if fits else ''}")


def _assigned(one: Assignment, output: UpdateTable, table: Table, scope: RowScope) -> tuple[int, Code]:
    places = [place for place, column in enumerate(table.columns) if column.name == one.target.name]
    if not places or one.target.source not in (None, output.target.name):
        names = [column.name for column in table.columns]
        raise unknown(one.target.at, f"there is no attribute {one.target.name!r}", one.target.name, names)
    code = ExpressionCompiler(scope).code_of(one.value)
    return places[0], _as_column(one.target.at, table.columns[places[0]], code)


def _as_column(at: Place, column: TypedColumn, code: Code) -> Code:
    """Return the value as the column's type: whole numbers fit into wider types and into float and double, a double
    into a float. Raises AppTextError if it does not fit."""
    if code.type == column.type:
        return code
    if code.type not in FITTING.get(column.type, ()):
        raise AppTextError(at, f"{column.name!r} is {column.type}, and this value is {code.type}")
    return Code(f"converted({code.source}, {column.type!r})", column.type)
