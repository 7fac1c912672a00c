"""TrainerHooks in the loops of training frameworks: one file a framework, imported only there."""
