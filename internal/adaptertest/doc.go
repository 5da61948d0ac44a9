// SPDX-License-Identifier: Apache-2.0

// Package adaptertest has what the tests of all adapters need: endpoints that answer by a script, on the loopback interface or
// in the process, and a sink that checks deltas.
package adaptertest
