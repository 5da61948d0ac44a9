// SPDX-License-Identifier: Apache-2.0

// Package matrix keeps the results of the conformance suite (package conformance) for every model
// of this module, and makes a table of them for the documentation.
//
// A model's test calls [Conformance] instead of modeltest.Conformance. The results are compared
// with a file in testdata, which reveals cases that were dropped or have begun to fail. After a
// change that is meant:
//
//	PONTE_UPDATE=1 go test ./agent/model/... -run Conformance
//	PONTE_UPDATE=1 go test ./internal/dev/matrix
//
// The first command also writes what each model leaves behind as a history, which every model must
// be able to continue; where a model is new, run it twice. The second command makes the table in
// docs/models.md of the files. Where a test has the flag -update, that does as well.
package matrix
