// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"reflect"

	p0 "github.com/ponte-go/ponte/agent/engine/temporalengine"
)

// exported are the exported types of all public packages: see [secrettest.Exported].
var exported = []reflect.Type{
	reflect.TypeFor[p0.Activity](),
	reflect.TypeFor[p0.ClientOptions](),
	reflect.TypeFor[p0.Client[any]](),
	reflect.TypeFor[p0.Config[any, any]](),
	reflect.TypeFor[p0.DirBlobs](),
	reflect.TypeFor[p0.Error](),
	reflect.TypeFor[p0.Index](),
	reflect.TypeFor[p0.Input](),
	reflect.TypeFor[p0.MemoryBlobs](),
	reflect.TypeFor[p0.Question](),
	reflect.TypeFor[p0.Run[any]](),
	reflect.TypeFor[p0.Runner](),
	reflect.TypeFor[p0.RunnerConfig](),
	reflect.TypeFor[p0.State](),
	reflect.TypeFor[p0.Waiting](),
}
