package bootstrap

import "strings"

// windows returns a PowerShell block: first the class's own user data, then the call of the image's bootstrap script.
func windows(in Input) string {
	var b strings.Builder
	b.WriteString("<powershell>\n")
	if custom := strings.TrimRight(in.Custom, "\n"); custom != "" {
		b.WriteString(custom + "\n")
	}
	b.WriteString(`[string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"` + "\n")
	words := []string{
		"& $EKSBootstrapScriptFile",
		"-EKSClusterName '" + in.Cluster.Name + "'",
		"-APIServerEndpoint '" + in.Cluster.Endpoint + "'",
	}
	if in.Cluster.CABundle != "" {
		words = append(words, "-Base64ClusterCA '"+in.Cluster.CABundle+"'")
	}
	words = append(words, "-KubeletExtraArgs '"+in.kubeletFlags()+"'")
	if dns := in.clusterDNS(); len(dns) > 0 {
		words = append(words, "-DNSClusterIP '"+dns[0]+"'")
	}
	b.WriteString(strings.Join(words, " ") + "\n</powershell>")
	return b.String()
}
