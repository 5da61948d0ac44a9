module github.com/ponte-go/ponte/internal/bench/acpsdk

go 1.26.0

require (
	github.com/coder/acp-go-sdk v0.13.0
	github.com/ponte-go/ponte/internal/bench/work v0.0.0
)

replace github.com/ponte-go/ponte/internal/bench/work => ../work
