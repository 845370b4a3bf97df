"""One feeder per exchange: reads its order-book stream and writes quotes to the log."""
