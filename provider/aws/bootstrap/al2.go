package bootstrap

import (
	"fmt"
	"strings"
)

// al2 returns a MIME archive: first the parts of the class's own user data, then a script that calls the image's
// bootstrap script.
func al2(in Input) (string, error) {
	var parts []part
	switch custom := strings.TrimSpace(in.Custom); {
	case custom == "":
	case isArchive(custom):
		var err error
		if parts, err = split(in.Custom); err != nil {
			return "", err
		}
	default:
		parts = []part{{typeShell, in.Custom}}
	}
	return archive(append(parts, part{typeShell, in.al2Script()})), nil
}

func (in Input) al2Script() string {
	words := []string{
		"/etc/eks/bootstrap.sh", "'" + in.Cluster.Name + "'",
		"--apiserver-endpoint", "'" + in.Cluster.Endpoint + "'",
	}
	if in.Cluster.CABundle != "" {
		words = append(words, "--b64-cluster-ca", "'"+in.Cluster.CABundle+"'")
	}
	dns := in.clusterDNS()
	switch {
	case len(dns) > 0 && strings.Contains(dns[0], ":"):
		words = append(words, "--ip-family", "ipv6")
	case len(dns) == 0 && in.Cluster.IPv6():
		words = append(words, "--ip-family", "ipv6", "--service-ipv6-cidr", "'"+in.Cluster.CIDR+"'")
	}
	if len(dns) > 0 {
		words = append(words, "--dns-cluster-ip", "'"+dns[0]+"'")
	}
	words = append(words, "--use-max-pods", "false", "--kubelet-extra-args", "'"+in.kubeletFlags()+"'")
	if in.RAID0 {
		words = append(words, "--local-disks", "raid0")
	}
	return fmt.Sprintf("#!/bin/bash -xe\nexec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1\n%s\n",
		strings.Join(words, " "))
}
