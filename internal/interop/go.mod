module github.com/ponte-go/ponte/internal/interop

go 1.26.0

require (
	github.com/coder/acp-go-sdk v0.13.0
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3
)

require golang.org/x/text v0.43.0 // indirect
