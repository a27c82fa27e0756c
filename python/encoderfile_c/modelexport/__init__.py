# SPDX-License-Identifier: Apache-2.0
"""modelexport: export with configuration files, metadata inside of ONNX files, processors of fixed shapes, pipelines without a task.

    from encoderfile_c.modelexport import export_with_config, pipeline
"""
from __future__ import annotations

from .errors import (
    ConfigurationError, MetadataError, ModelLoadError, ONNXProcessorError, ProcessorNotFoundError, ShapeError, UnsupportedModalityError,
)
from .exporting import (
    ConfigurationCopier, HierarchyTagPreservationExporter, add_config_to_existing_model, export_onnx_with_hierarchy, export_to_onnx,
    export_with_config, validate_optimum_compatibility, verify_onnx_model,
)
from .helpers import benchmark_inference, create_inference_pipeline, load_preprocessor
from .inference import AutoModelForONNX, BusNERInference, create_pipeline, pipeline
from .metadata import MetadataExtractor, ONNXMetadataReader
from .processors import (
    ONNXAudioProcessor, ONNXAutoProcessor, ONNXFeatureExtractor, ONNXImageProcessor, ONNXProcessor, ONNXTokenizer, ONNXVideoProcessor,
)

__all__ = [
    "AutoModelForONNX", "BusNERInference", "ConfigurationCopier", "ConfigurationError", "HierarchyTagPreservationExporter", "MetadataError",
    "MetadataExtractor", "ModelLoadError", "ONNXAudioProcessor", "ONNXAutoProcessor", "ONNXFeatureExtractor", "ONNXImageProcessor",
    "ONNXMetadataReader", "ONNXProcessor", "ONNXProcessorError", "ONNXTokenizer", "ONNXVideoProcessor", "ProcessorNotFoundError", "ShapeError",
    "UnsupportedModalityError", "add_config_to_existing_model", "benchmark_inference", "create_inference_pipeline", "create_pipeline",
    "export_onnx_with_hierarchy", "export_to_onnx", "export_with_config", "load_preprocessor", "pipeline", "validate_optimum_compatibility",
    "verify_onnx_model",
]
