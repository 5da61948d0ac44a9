module github.com/ponte-go/ponte/internal/bench/floor

go 1.26.0

require (
	github.com/google/jsonschema-go v0.4.3
	github.com/ponte-go/ponte/internal/bench/work v0.0.0
)

replace github.com/ponte-go/ponte/internal/bench/work => ../work
