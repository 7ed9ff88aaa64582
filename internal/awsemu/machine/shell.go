package machine

import (
	"errors"
	"fmt"
	"strings"
)

// words splits a line of shell into words. It interprets quotes, backslashes and comments, but no variables and substitutions.
func words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	inWord := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n':
			if inWord {
				out = append(out, word.String())
				word.Reset()
			}
			inWord = false
		case c == '\'' || c == '"':
			end := closing(line, i)
			if end < 0 {
				return nil, fmt.Errorf("unexpected EOF while looking for matching %q", string(c))
			}
			word.WriteString(unquote(line[i+1:end], c))
			i, inWord = end, true
		case c == '\\' && i+1 < len(line):
			i++
			if line[i] != '\n' {
				word.WriteByte(line[i])
				inWord = true
			}
		case c == '#' && !inWord:
			i = len(line) // a comment
		default:
			word.WriteByte(c)
			inWord = true
		}
	}
	if inWord {
		out = append(out, word.String())
	}
	return out, nil
}

// closing returns the index of the quote that closes the one at index i, -1 if there is none.
func closing(line string, i int) int {
	quote := line[i]
	for j := i + 1; j < len(line); j++ {
		if quote == '"' && line[j] == '\\' {
			j++
			continue
		}
		if line[j] == quote {
			return j
		}
	}
	return -1
}

// unquote interprets the backslashes in double-quoted text. Single-quoted text is returned unchanged.
func unquote(text string, quote byte) string {
	if quote == '\'' {
		return text
	}
	return strings.NewReplacer(`\"`, `"`, `\\`, `\`, `\$`, `$`, "\\\n", "").Replace(text)
}

// logicalLines splits a script into lines. A line that ends in a backslash is joined with the next one.
func logicalLines(script string) []string {
	script = strings.ReplaceAll(script, "\r\n", "\n")
	return strings.Split(strings.ReplaceAll(script, "\\\n", " "), "\n")
}

// bootstrapScript is the script by which Amazon Linux 2 joins a cluster.
const bootstrapScript = "/etc/eks/bootstrap.sh"

// decodeAL2 decodes the call of the bootstrap script in the shell parts.
func decodeAL2(raw []byte) (Bootstrap, error) {
	parts, err := archive(raw)
	if err != nil {
		return Bootstrap{}, err
	}
	for _, p := range parts {
		if p.kind != "text/x-shellscript" && p.kind != "" {
			continue
		}
		for _, line := range logicalLines(string(p.body)) {
			if !strings.HasPrefix(strings.TrimSpace(line), bootstrapScript) {
				continue
			}
			args, err := words(line)
			if err != nil {
				return Bootstrap{}, fmt.Errorf("cloud-init: bash: %w", err)
			}
			return bootstrapCall(args[1:])
		}
	}
	return Bootstrap{}, errors.New("cloud-init: no part of the user data calls " + bootstrapScript)
}

// bootstrapCall decodes the arguments of the bootstrap script.
func bootstrapCall(args []string) (Bootstrap, error) {
	b := Bootstrap{Labels: map[string]string{}}
	for i := 0; i < len(args); i++ {
		name := args[i]
		if !strings.HasPrefix(name, "--") {
			b.Cluster = name
			continue
		}
		if i++; i == len(args) {
			return b, fmt.Errorf("bootstrap.sh: %s needs a value", name)
		}
		value := args[i]
		switch name {
		case "--apiserver-endpoint":
			b.Endpoint = value
		case "--b64-cluster-ca":
			b.CA = value
		case "--local-disks":
			b.RAID0 = value == "raid0"
		case "--kubelet-extra-args":
			if err := b.flags(value); err != nil {
				return b, err
			}
		case "--use-max-pods", "--dns-cluster-ip", "--ip-family", "--service-ipv6-cidr", "--container-runtime",
			"--containerd-config-file", "--pause-container-account", "--pause-container-version", "--cluster-id":
		default:
			return b, fmt.Errorf("bootstrap.sh: unknown option %s", name)
		}
	}
	return b, nil
}

// flags applies a line of kubelet flags.
func (b *Bootstrap) flags(line string) error {
	args, err := words(line)
	if err != nil {
		return fmt.Errorf("kubelet: extra args: %w", err)
	}
	for i := 0; i < len(args); i++ {
		flag := args[i]
		if !strings.Contains(flag, "=") && i+1 < len(args) && !strings.HasPrefix(args[i+1], "--") {
			i++
			flag += "=" + args[i] // "--max-pods 29"
		}
		if err := b.flag(flag); err != nil {
			return err
		}
	}
	return nil
}

// decodeWindows decodes the call of the bootstrap script in the PowerShell block.
func decodeWindows(raw []byte) (Bootstrap, error) {
	_, script, ok := strings.Cut(string(raw), "<powershell>")
	if !ok {
		return Bootstrap{}, errors.New("EC2Launch: no <powershell> block in the user data")
	}
	script, _, ok = strings.Cut(script, "</powershell>")
	if !ok {
		return Bootstrap{}, errors.New("EC2Launch: the <powershell> block does not end")
	}
	b := Bootstrap{Labels: map[string]string{}}
	for line := range strings.Lines(script) {
		if !strings.Contains(line, "-EKSClusterName") {
			continue
		}
		args, err := words(line)
		if err != nil {
			return b, fmt.Errorf("powershell: %w", err)
		}
		for i := 0; i+1 < len(args); i++ {
			switch args[i] {
			case "-EKSClusterName":
				b.Cluster = args[i+1]
			case "-APIServerEndpoint":
				b.Endpoint = args[i+1]
			case "-Base64ClusterCA":
				b.CA = args[i+1]
			case "-KubeletExtraArgs":
				if err := b.flags(args[i+1]); err != nil {
					return b, err
				}
			}
		}
		return b, nil
	}
	return b, errors.New("powershell: nothing calls Start-EKSBootstrap.ps1 with -EKSClusterName")
}
