"""Segments: the test of calibration in all overlapping subsets of the rows, exact together."""

from caltest.segments.result import Segment, SegmentsTest
from caltest.segments.run import test_segments

__all__ = ["Segment", "SegmentsTest", "test_segments"]
