package state

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Address is host:port of a purpose.
func (s *State) Address(purpose string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Ports[purpose]))
}

// AssignPorts gives each purpose that has no port yet a free one. fixed names
// ports that the caller insists on; a purpose that already has another port
// is an error, because running parts know the old one.
func (s *State) AssignPorts(purposes []string, fixed map[string]int) error {
	for purpose, port := range fixed {
		if had := s.Ports[purpose]; had != 0 && had != port {
			return fmt.Errorf("port of %s is %d since this cluster was made; run down to change it",
				purpose, had)
		}
		s.Ports[purpose] = port
	}
	var missing []string
	for _, purpose := range purposes {
		if s.Ports[purpose] == 0 {
			missing = append(missing, purpose)
		}
	}
	ports, err := freePorts(len(missing))
	if err != nil {
		return err
	}
	for i, purpose := range missing {
		s.Ports[purpose] = ports[i]
	}
	return nil
}

// freePorts asks the system for n ports that nobody listens on. They are held
// open together, so that they differ.
func freePorts(n int) (ports []int, err error) {
	var open []net.Listener
	defer func() {
		for _, listener := range open {
			err = errors.Join(err, listener.Close())
		}
	}()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		open = append(open, listener)
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// CheckPortFree returns an error that names the purpose if something listens
// on its port.
func (s *State) CheckPortFree(purpose string) error {
	listener, err := net.Listen("tcp", s.Address(purpose))
	if err != nil {
		return fmt.Errorf("port %d of %s is taken by another program: free it, or run down and up again",
			s.Ports[purpose], purpose)
	}
	return listener.Close()
}
