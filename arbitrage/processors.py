"""What an operator's file of processors imports: `@processor` for a class, and the type of what its methods get."""

from cep.apps.functions.processor_api import ProcessorKey, processor

__all__ = ["ProcessorKey", "processor"]
