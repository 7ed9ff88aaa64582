output "controller_role_arn" {
  description = "For serviceAccount.annotations of the chart with IRSA; Pod Identity needs nothing."
  value       = aws_iam_role.controller.arn
}

output "node_role_name" {
  description = "For spec.role of EC2NodeClasses."
  value       = aws_iam_role.node.name
}

output "queue_name" {
  description = "For settings.interruptionQueue of the chart."
  value       = aws_sqs_queue.interruption.name
}
