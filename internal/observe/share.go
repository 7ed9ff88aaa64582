package observe

import (
	"reflect"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// maxTexts is the largest number of texts that a Sharer remembers, and maxText the length in bytes of the longest.
	maxTexts, maxText = 1 << 16, 256
	// maxOwners is the largest number of owners of pods that a Sharer remembers.
	maxOwners = 1 << 16
)

// A Sharer shortens objects before a cache stores them, and lets equal parts of different objects share their memory. Pods of
// one ReplicaSet differ in little but their names, and most labels and conditions of nodes are the same on all nodes. Decoders
// make a copy of each.
//
// Its memory is bounded: when a table is full, it is emptied, and objects that are stored afterwards share with each other. It is
// safe for concurrent use. The objects must not be changed after they were stored, which caches demand in any case.
type Sharer struct {
	mu    sync.Mutex
	texts map[string]string
	// latest has the latest pod of each controller, such as a ReplicaSet, by the UID of the controller. It does not keep
	// pods alive that the cache removed.
	latest map[types.UID]weak.Pointer[corev1.Pod]
}

// NewSharer returns a Sharer that remembers nothing.
func NewSharer() *Sharer {
	return &Sharer{texts: map[string]string{}, latest: map[types.UID]weak.Pointer[corev1.Pod]{}}
}

// Transform is Shorten, with parts that are shared. It is a toolscache.TransformFunc: it changes o and returns it.
func (s *Sharer) Transform(o any) (any, error) {
	o, err := Shorten(o)
	if err != nil {
		return o, err
	}
	switch x := o.(type) {
	case *corev1.Pod:
		s.sharePod(x)
	case *corev1.Node:
		s.shareNode(x)
	}
	return o, nil
}

func (s *Sharer) sharePod(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.intern(&p.Namespace, &p.Spec.NodeName, (*string)(&p.Status.Phase), (*string)(&p.Status.QOSClass))
	for i := range p.Status.Conditions {
		c := &p.Status.Conditions[i]
		s.intern((*string)(&c.Type), (*string)(&c.Status), &c.Reason, &c.Message)
	}
	owner := metav1.GetControllerOfNoCopy(p)
	if owner == nil {
		return
	}
	known := s.latest[owner.UID].Value()
	if len(s.latest) >= maxOwners {
		clear(s.latest)
	}
	s.latest[owner.UID] = weak.Make(p)
	if known == nil || known == p {
		return
	}
	shareFields(&p.ObjectMeta, &known.ObjectMeta)
	shareFields(&p.Spec, &known.Spec)
}

func (s *Sharer) shareNode(n *corev1.Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n.Labels, n.Annotations = s.internMap(n.Labels), s.internMap(n.Annotations)
	for i := range n.Status.Conditions {
		c := &n.Status.Conditions[i]
		s.intern((*string)(&c.Type), (*string)(&c.Status), &c.Reason, &c.Message)
	}
}

// intern replaces each text by an equal one that other objects may have.
func (s *Sharer) intern(texts ...*string) {
	for _, text := range texts {
		if *text == "" || len(*text) > maxText {
			continue
		}
		known, ok := s.texts[*text]
		if !ok {
			if len(s.texts) >= maxTexts {
				clear(s.texts)
			}
			known = *text
			s.texts[known] = known
		}
		*text = known
	}
}

// internMap returns a map with interned keys and values.
func (s *Sharer) internMap(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	out := make(map[string]string, len(m))
	for key, value := range m {
		s.intern(&key, &value)
		out[key] = value
	}
	return out
}

// shareFields sets each field of x that is equal to that of known to the value in known, so that both share the memory behind it.
// Requests of 1 and of 1000m are equal.
func shareFields[T any](x, known *T) {
	a, b := reflect.ValueOf(x).Elem(), reflect.ValueOf(known).Elem()
	for i := range a.NumField() {
		field, other := a.Field(i), b.Field(i)
		switch field.Kind() {
		case reflect.String, reflect.Map, reflect.Slice, reflect.Pointer:
			if !field.IsZero() && equality.Semantic.DeepEqual(field.Interface(), other.Interface()) {
				field.Set(other)
			}
		default: // numbers and structs have no memory of their own that is worth the comparison
		}
	}
}
