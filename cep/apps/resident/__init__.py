"""Stream apps in Spark tasks that stay: one for each partition, watched, and begun again if they are lost."""
