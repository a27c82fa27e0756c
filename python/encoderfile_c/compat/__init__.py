# SPDX-License-Identifier: Apache-2.0
"""Modules with the names of other packages, for code that imports those: each is installed by its own call, never by itself."""
