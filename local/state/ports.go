package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
)

// Address returns host:port for a purpose.
func (s *State) Address(purpose string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Ports[purpose]))
}

// AssignPorts assigns a free port to each purpose without a port. fixed has required ports. If such a purpose already
// has another port, it returns an error, because running parts use the old port.
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

// freePorts finds n ports on which no process listens. All of them are held open until the last one is found, so that
// they differ.
//
// The ports are below the range that the system uses for outgoing connections. When a part crashes, its port is free
// for a moment while clients try to connect to it. If the local port of such a client were the same port, the client
// would connect to itself and occupy the port.
func freePorts(n int) (ports []int, err error) {
	var open []net.Listener
	defer func() {
		for _, listener := range open {
			err = errors.Join(err, listener.Close())
		}
	}()
	first := firstEphemeral()
	for range n {
		listener, err := listen(first)
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		open = append(open, listener)
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

const (
	// lowest is the lowest port that may be chosen. Lower ports belong to well-known services.
	lowest = 12000
	// tries is the number of ports to try before the system chooses any port.
	tries = 200
)

// listen opens a random port from lowest to below first, or any port if none of the tried ones is free.
func listen(first int) (net.Listener, error) {
	for range tries {
		if first <= lowest {
			break
		}
		port := lowest + rand.IntN(first-lowest)
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return listener, nil
		}
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// firstEphemeral returns the lowest port that the system uses for outgoing connections.
func firstEphemeral() int {
	const usual = 32768
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return usual // not Linux; other systems use higher ports
	}
	var from, to int
	if _, err := fmt.Sscan(string(text), &from, &to); err != nil {
		return usual
	}
	return from
}

// CheckPortFree returns an error that names the purpose if a process listens on its port.
func (s *State) CheckPortFree(purpose string) error {
	listener, err := net.Listen("tcp", s.Address(purpose))
	if err != nil {
		return fmt.Errorf("port %d of %s is taken by another program: free it, or run down and up again",
			s.Ports[purpose], purpose)
	}
	return listener.Close()
}
