package manifest

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// A sharer decodes equal lists of containers only once, and pods share the result, because containers take most of the
// memory of pods. The pods of a large cluster have only a few hundred different lists. A caller must copy containers
// before it changes them.
type sharer struct {
	mu         sync.RWMutex // guards containers
	containers map[string][]corev1.Container
}

// pod decodes a pod. It returns false if the pod has an unusual form; the caller then decodes it as a whole, which
// gives an error if it is invalid.
func (s *sharer) pod(data []byte) (*corev1.Pod, bool) {
	list, ok := containersIn(data)
	if !ok {
		return nil, false
	}
	containers, ok := s.shared(list)
	if !ok {
		return nil, false
	}
	at := cap(data) - cap(list)
	rest := make([]byte, 0, len(data)-len(list)+len("null"))
	rest = append(append(append(rest, data[:at]...), "null"...), data[at+len(list):]...)
	var p corev1.Pod
	if utiljson.Unmarshal(rest, &p) != nil {
		return nil, false
	}
	p.Spec.Containers = containers
	return &p, true
}

// containersIn returns the text of spec.containers. ok is false if the pod does not have exactly one such field.
func containersIn(data []byte) (list []byte, ok bool) {
	n := 0
	err := eachField(data, func(key string, value []byte) bool {
		if key != "spec" {
			return true
		}
		return eachField(value, func(key string, value []byte) bool {
			if key == "containers" {
				list = value
				n++
			}
			return true
		}) == nil
	})
	return list, err == nil && n == 1
}

// shared returns the decoded containers of text.
func (s *sharer) shared(text []byte) ([]corev1.Container, bool) {
	s.mu.RLock()
	have, ok := s.containers[string(text)]
	s.mu.RUnlock()
	if ok {
		return have, true
	}
	if utiljson.Unmarshal(text, &have) != nil {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.containers[string(text)]; ok {
		return first, true
	}
	if s.containers == nil {
		s.containers = map[string][]corev1.Container{}
	}
	s.containers[string(text)] = have
	return have, true
}
