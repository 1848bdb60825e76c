"""x"""
from caltest.survival.predictions import SurvivalPredictions
__all__=["SurvivalPredictions"]
