// SPDX-License-Identifier: Apache-2.0

package pgstore_test

import (
	"reflect"

	p0 "github.com/ponte-go/ponte/agent/session/pgstore"
)

// exported are the exported types of all public packages: see [secrettest.Exported].
var exported = []reflect.Type{
	reflect.TypeFor[p0.Blobs](),
	reflect.TypeFor[p0.Options](),
	reflect.TypeFor[p0.Store](),
}
