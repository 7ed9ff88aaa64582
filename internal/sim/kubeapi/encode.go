package kubeapi

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Objects of Kubernetes are encoded as protobuf for clients that prefer it, as the clients of a controller do by default. Each
// version of an object is encoded at most once in each form.

// envelope is the prefix of every encoding in protobuf.
var envelope = []byte("k8s\x00")

// json returns the encoding of the object as JSON.
func (e *entry) json() []byte {
	if e.text == nil {
		e.text = must(json.Marshal(e.object))
	}
	return e.text
}

// marshaler is an object that can be encoded as protobuf.
type marshaler interface{ Marshal() ([]byte, error) }

// protobuf returns the encoding of the object as protobuf, without the envelope.
func (e *entry) protobuf() []byte {
	if e.raw == nil {
		e.raw = must(e.object.(marshaler).Marshal())
	}
	return e.raw
}

// must returns the result of an encoding. It can only fail because of a mistake in the program, as all objects were decoded before
// or are of types that can be encoded.
func must(data []byte, err error) []byte {
	if err != nil {
		panic(fmt.Sprintf("encode: %v", err))
	}
	return data
}

// encode returns the object in the form that the client prefers.
func (r *Request) encode(e *entry) []byte {
	if _, ok := e.object.(marshaler); !r.Protobuf || !ok {
		return e.json()
	}
	return enveloped(e.object.GetObjectKind().GroupVersionKind().ToAPIVersionAndKind())(e.protobuf())
}

// enveloped returns a function that adds the envelope with a version and kind to an encoding in protobuf.
func enveloped(version, kind string) func(raw []byte) []byte {
	return func(raw []byte) []byte {
		u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: kind}, Raw: raw}
		data := make([]byte, len(envelope)+u.Size())
		copy(data, envelope)
		if _, err := u.MarshalTo(data[len(envelope):]); err != nil {
			panic(err) // the size is right
		}
		return data
	}
}

// encodeList returns a list of objects of the table.
func (t *table) encodeList(list []*entry, asProtobuf bool) []byte {
	version, kind := t.kind.GroupVersion().String(), t.kind.Kind+"List"
	if !asProtobuf || t.kind.Custom {
		var b strings.Builder
		fmt.Fprintf(&b, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"},"items":[`, kind, version, t.etcd.version)
		for i, e := range list {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(e.json())
		}
		b.WriteString("]}")
		return []byte(b.String())
	}
	// In each list type the metadata is field 1 and the items are field 2.
	meta := metav1.ListMeta{ResourceVersion: fmt.Sprint(t.etcd.version)}
	data := appendField(nil, 1, must(meta.Marshal()))
	for _, e := range list {
		data = appendField(data, 2, e.protobuf())
	}
	return enveloped(version, kind)(data)
}

// appendField appends a field of a message: its number, the length of its value, and the value.
func appendField(data []byte, number byte, value []byte) []byte {
	const bytesType = 2
	data = append(data, number<<3|bytesType)
	data = binary.AppendUvarint(data, uint64(len(value)))
	return append(data, value...)
}

// event returns the bytes of one event of the watch: a line of JSON, or a message with its length before it.
func (w *Watch) event(kind watch.EventType, e *entry) []byte {
	if !w.protobuf {
		return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", kind, e.json())
	}
	r := Request{Protobuf: true}
	message := must((&metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: r.encode(e)}}).Marshal())
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// blank returns a new object of the table's kind.
func (t *table) blank() client.Object {
	o, err := t.server.cfg.Scheme.New(t.kind.GroupVersionKind)
	if err != nil {
		panic(err) // New has made one before
	}
	return o.(client.Object)
}

// bodies reads objects of Kubernetes in protobuf.
var bodies = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// decoded reads the body of a request that is encoded as protobuf. It returns the object and the body as it is. Instead of an
// object of a subresource, or of one without metadata, it returns the body as JSON.
func decoded(body []byte) (client.Object, []byte, error) {
	o, _, err := bodies.Decode(body, nil, nil)
	if err != nil {
		return nil, nil, fmt.Errorf("decode protobuf: %w", err)
	}
	switch o.(type) {
	case *corev1.Binding, *policyv1.Eviction, *authorizationv1.SelfSubjectAccessReview:
	default:
		if object, ok := o.(client.Object); ok {
			return object, body, nil
		}
	}
	text, err := json.Marshal(o)
	return nil, text, err
}
