package kubeapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/admission"
)

// A Config says what a Server has.
type Config struct {
	// Scheme has the types of all kinds.
	Scheme *runtime.Scheme
	Kinds  []Kind
	// Now returns the time of the server.
	Now func() time.Time
	// Seed determines the names and uids that the server gives.
	Seed uint64
	// Admission checks objects of custom kinds and sets their defaults. Nil accepts all.
	Admission *admission.Checker
	// History is how many changes a watch can be behind before it gets the error 410. Default 1,000.
	History int
}

// A Server holds the objects of a cluster.
type Server struct {
	cfg     Config
	tables  map[schema.GroupVersionResource]*table
	kinds   map[schema.GroupVersionKind]*table
	types   map[reflect.Type]*table
	written []func(before, after client.Object)
}

// An etcd counts the writes of the kinds that it holds. Events have an etcd of their own, as in many clusters. Goroutines write them
// at the same time, in an order that may differ between two runs, and the versions and uids of other objects do not depend on it.
type etcd struct {
	names   *rand.Rand
	version uint64
}

func newEtcd(seed uint64) *etcd { return &etcd{rand.New(rand.NewPCG(seed, 0x6b756265)), 100} }

// OnWrite adds a function that is called after each change with the object before and after the change. before is nil for a
// new object, and after is nil for a removed one. f must not modify them, and must not write to the server. Several functions
// are called in the order in which they were added.
func (s *Server) OnWrite(f func(before, after client.Object)) { s.written = append(s.written, f) }

// New makes a server without objects.
func New(cfg Config) *Server {
	if cfg.History == 0 {
		cfg.History = 1000
	}
	s := &Server{
		cfg: cfg, tables: map[schema.GroupVersionResource]*table{}, kinds: map[schema.GroupVersionKind]*table{}, types: map[reflect.Type]*table{},
	}
	main, events := newEtcd(cfg.Seed), newEtcd(cfg.Seed)
	for _, k := range cfg.Kinds {
		t := &table{kind: k, server: s, etcd: main, objects: map[key]*entry{}}
		if k.Plural == "events" {
			t.etcd = events
		}
		s.tables[k.Resource()], s.kinds[k.GroupVersionKind] = t, t
		o, err := cfg.Scheme.New(k.GroupVersionKind)
		if err != nil {
			panic(err) // a kind that the scheme lacks: a mistake in the program
		}
		s.types[reflect.TypeOf(o)] = t
	}
	return s
}

// Compact drops the history of a kind, as etcd does after a while: a watch from an earlier version fails, so its client lists all
// objects again. An empty plural means all kinds.
func (s *Server) Compact(plural string) {
	for _, t := range s.tables {
		if plural == "" || t.kind.Plural == plural {
			t.changes, t.dropped = nil, t.etcd.version
		}
	}
}

// Lose removes an object at once, without regard to its finalizers, as a restore of an earlier state of etcd does.
func (s *Server) Lose(o client.Object) error {
	t, err := s.tableOf(o)
	if err != nil {
		return err
	}
	k := key{o.GetNamespace(), o.GetName()}
	if _, err := t.get(k); err != nil {
		return err
	}
	t.store(k, nil)
	return nil
}

// A Request is one call of a client.
type Request struct {
	Context     context.Context
	Method      string
	Path        string
	Query       url.Values
	ContentType string
	Body        []byte
	// Object is the object of the body if the client sent it as protobuf. Body is JSON if Object is nil.
	Object client.Object
	// Protobuf is true if the client prefers answers in protobuf. Objects of custom kinds are always encoded as JSON.
	Protobuf bool
}

// A Response is the answer to a Request. Watch is set instead of Body if the answer is a stream. Protobuf is true if Body or the
// events of Watch are encoded as protobuf, and false for JSON.
type Response struct {
	Code     int
	Body     []byte
	Watch    *Watch
	Protobuf bool
}

// target is what the path of a request identifies: a kind, an object of it, and a subresource. The last two may be empty.
type target struct {
	table       *table
	key         key
	subresource string
}

// errUnknown is the answer to paths that the server does not have.
var errUnknown = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
	Message: "the server could not find the requested resource",
}}

// Serve carries out one request.
func (s *Server) Serve(r *Request) Response {
	if r.Context == nil {
		r.Context = context.Background()
	}
	if body, ok := s.discover(r); ok {
		return Response{Code: http.StatusOK, Body: body}
	}
	t, err := s.parse(r.Path)
	if err != nil {
		return failure(err)
	}
	if r.Method == http.MethodGet && t.key.name == "" && r.Query.Get("watch") != "" && r.Query.Get("watch") != "false" {
		w, err := t.table.watch(t.key.namespace, r)
		if err != nil {
			return failure(err)
		}
		return Response{Code: http.StatusOK, Watch: w, Protobuf: w.protobuf}
	}
	code, body, err := s.dispatch(t, r)
	if err != nil {
		return failure(err)
	}
	return Response{Code: code, Body: body, Protobuf: bytes.HasPrefix(body, envelope)}
}

// dispatch carries out a request for an object or a list.
func (s *Server) dispatch(t target, r *Request) (code int, body []byte, err error) {
	switch {
	case r.Method == http.MethodGet && t.key.name == "":
		var matching []*entry
		if matching, err = t.table.list(t.key.namespace, r.Query); err == nil {
			body = t.table.encodeList(matching, r.Protobuf)
		}
	case r.Method == http.MethodGet:
		var e *entry
		if e, err = t.table.get(t.key); err == nil {
			body = r.encode(e)
		}
	case r.Method == http.MethodPost && t.subresource == "eviction":
		return s.evict(t, r)
	case r.Method == http.MethodPost && t.subresource == "binding":
		return s.bind(t, r)
	case r.Method == http.MethodPost && t.key.name == "":
		return s.create(t, r)
	case r.Method == http.MethodPut:
		body, err = s.put(t, r)
	case r.Method == http.MethodPatch:
		body, err = s.patch(t, r)
	case r.Method == http.MethodDelete && t.key.name != "":
		body, err = s.remove(t, r)
	case r.Method == http.MethodDelete:
		body, err = s.removeAll(t, r)
	default:
		err = apierrors.NewMethodNotSupported(t.table.kind.Resource().GroupResource(), r.Method)
	}
	return http.StatusOK, body, err
}

// failure returns the response for an error.
func failure(err error) Response {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	st := status.Status()
	st.APIVersion, st.Kind = "v1", "Status"
	body, err := json.Marshal(st)
	if err != nil {
		body = []byte(err.Error())
	}
	return Response{Code: int(st.Code), Body: body}
}

// parse reads /api/v1/… and /apis/GROUP/VERSION/… paths.
func (s *Server) parse(path string) (target, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var gv schema.GroupVersion
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		gv, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		gv, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return target{}, errUnknown
	}
	var t target
	if parts[0] == "namespaces" && len(parts) >= 3 && !(len(parts) == 3 && parts[2] == "status") {
		t.key.namespace, parts = parts[1], parts[2:]
	}
	t.table = s.tables[gv.WithResource(parts[0])]
	if t.table == nil || len(parts) > 3 {
		return target{}, errUnknown
	}
	if len(parts) > 1 {
		t.key.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	return t, nil
}

// tableOf returns the table of the kind of a typed object, which may be nil.
func (s *Server) tableOf(o client.Object) (*table, error) {
	if t := s.types[reflect.TypeOf(o)]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("the server does not have the kind of %T", o)
}

// List returns all objects of type T in the order of their namespaces and names. They may not be changed.
func List[T client.Object](s *Server) []T {
	var zero T
	t, err := s.tableOf(zero)
	if err != nil {
		panic(err) // a kind that Config lacks: a mistake in the program
	}
	out := make([]T, 0, len(t.objects))
	for _, e := range t.sorted() {
		out = append(out, e.object.(T))
	}
	return out
}

// Find returns the object of type T with a name, and false if there is none. It may not be changed.
func Find[T client.Object](s *Server, namespace, name string) (T, bool) {
	var zero T
	t, err := s.tableOf(zero)
	if err != nil {
		panic(err) // a kind that Config lacks: a mistake in the program
	}
	e := t.objects[key{namespace, name}]
	if e == nil {
		return zero, false
	}
	return e.object.(T), true
}

// Len returns the number of objects of type T.
func Len[T client.Object](s *Server) int {
	var zero T
	t, err := s.tableOf(zero)
	if err != nil {
		panic(err) // a kind that Config lacks: a mistake in the program
	}
	return len(t.objects)
}
