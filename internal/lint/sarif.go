package lint

// SARIF returns findings in the Static Analysis Results Interchange Format 2.1.0, which hosting services for code show
// beside the lines.
func SARIF(version string, findings []Finding) any {
	type object = map[string]any
	rules := make([]object, len(Rules))
	index := map[string]int{}
	for i, r := range Rules {
		index[r.Name] = i
		rules[i] = object{"id": r.Name, "shortDescription": object{"text": r.About},
			"defaultConfiguration": object{"level": string(r.Severity)}}
	}
	results := make([]object, len(findings))
	for i, f := range findings {
		text := f.Message
		if f.Field != "" {
			text = f.Field + ": " + text
		}
		results[i] = object{
			"ruleId": f.Rule, "ruleIndex": index[f.Rule], "level": string(f.Severity),
			"message": object{"text": text + "\nFix: " + f.Fix},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": object{"uri": f.File}, "region": object{"startLine": f.Line}}}},
		}
	}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool":    object{"driver": object{"name": "karpenter lint", "version": version, "rules": rules}},
			"results": results,
		}},
	}
}
