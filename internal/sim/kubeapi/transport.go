package kubeapi

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ReadRequest turns an HTTP request into a Request. A body in protobuf that is not an object of the server becomes one in JSON.
func ReadRequest(r *http.Request) (*Request, error) {
	q := &Request{
		Context: r.Context(), Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), ContentType: r.Header.Get("Content-Type"),
		Protobuf: prefersProtobuf(r.Header.Get("Accept")),
	}
	if r.Body == nil {
		return q, nil
	}
	defer r.Body.Close()
	var err error
	if q.Body, err = io.ReadAll(r.Body); err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	if q.ContentType == runtime.ContentTypeProtobuf && len(q.Body) > 0 {
		q.ContentType = runtime.ContentTypeJSON
		if q.Object, q.Body, err = decoded(q.Body); err != nil {
			return nil, err
		}
	}
	return q, nil
}

// prefersProtobuf reports whether the first media type of an Accept header is protobuf. Lists of metadata alone, which have a
// parameter "as", are not supported in protobuf.
func prefersProtobuf(accept string) bool {
	first, _, _ := strings.Cut(accept, ",")
	return strings.HasPrefix(first, runtime.ContentTypeProtobuf) && !strings.Contains(first, "as=")
}

// HTTP returns an HTTP response of the server at a time. Body is used if it is not nil, for streams.
func HTTP(r *http.Request, resp Response, body io.ReadCloser, now time.Time) *http.Response {
	length, content := int64(-1), runtime.ContentTypeJSON
	if resp.Protobuf {
		content = runtime.ContentTypeProtobuf
		if resp.Watch != nil {
			content += ";stream=watch"
		}
	}
	if body == nil {
		body, length = io.NopCloser(bytes.NewReader(resp.Body)), int64(len(resp.Body))
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", resp.Code, http.StatusText(resp.Code)), StatusCode: resp.Code,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: length, Body: body, Request: r,
		Header: http.Header{"Content-Type": {content}, "Date": {now.UTC().Format(http.TimeFormat)}},
	}
}

// direct is an HTTP transport that carries out requests immediately, in the caller's goroutine.
type direct struct{ server *Server }

// RoundTrip implements http.RoundTripper. It cannot watch.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	q, err := ReadRequest(r)
	if err != nil {
		return nil, err
	}
	resp := d.server.Serve(q)
	if resp.Watch != nil {
		resp.Watch.Close()
		return nil, fmt.Errorf("%s %s: a client without a transport of its own cannot watch", q.Method, q.Path)
	}
	return HTTP(r, resp, nil, d.server.cfg.Now()), nil
}

// RestConfig returns a client configuration that uses the transport. With a nil transport, requests are carried out
// immediately, in the caller's goroutine.
func (s *Server) RestConfig(transport http.RoundTripper) *rest.Config {
	if transport == nil {
		transport = direct{s}
	}
	return &rest.Config{Host: "http://kube-apiserver.sim", Transport: transport, QPS: -1}
}

// Client returns a client that reads and writes without delay or faults. It is for the goroutine that owns the server.
func (s *Server) Client() (client.Client, error) {
	c, err := client.New(s.RestConfig(nil), client.Options{Scheme: s.cfg.Scheme})
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return c, nil
}
