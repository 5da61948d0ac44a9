// SPDX-License-Identifier: Apache-2.0

package acptest

import (
	"context"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// ReadTextFile implements [acp.Client].
func (c *Client) ReadTextFile(ctx context.Context, req *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	if err := c.enter(ctx, acp.MethodReadTextFile, req); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checkPath(acp.MethodReadTextFile, req.Path)
	content, ok := c.file(req.Path)
	if !ok {
		return nil, acp.Errorf(acp.CodeResourceNotFound, "no such file: %s", req.Path)
	}
	return &acp.ReadTextFileResponse{Content: part(content, req.Line, req.Limit)}, nil
}

// part returns the lines that were asked for. Lines are counted from 1.
func part(content string, line, limit *uint32) string {
	skip := 0
	if line != nil && *line > 1 {
		skip = int(*line) - 1
	}
	for range skip {
		i := strings.IndexByte(content, '\n')
		if i < 0 {
			return ""
		}
		content = content[i+1:]
	}
	if limit == nil {
		return content
	}
	end := 0
	for range *limit {
		i := strings.IndexByte(content[end:], '\n')
		if i < 0 {
			return content
		}
		end += i + 1
	}
	return content[:end]
}

// WriteTextFile implements [acp.Client]. It saves: unsaved changes of the file are gone.
func (c *Client) WriteTextFile(ctx context.Context, req *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	if err := c.enter(ctx, acp.MethodWriteTextFile, req); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checkPath(acp.MethodWriteTextFile, req.Path)
	delete(c.unsaved, req.Path)
	if err := c.save(req.Path, req.Content); err != nil {
		return nil, acp.Errorf(acp.CodeInternal, "%v", err)
	}
	return &acp.WriteTextFileResponse{}, nil
}
