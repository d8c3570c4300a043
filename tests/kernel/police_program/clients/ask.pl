# Asks 127.0.0.1 with Perl's own client, kept: heads, and a body of 10 MB with its length and in chunks. Prints the statuses.
use strict;
use HTTP::Tiny;

my ($http, %statuses) = HTTP::Tiny->new;
open my $file, '<:raw', $ARGV[0] or die;
my $body = do { local $/; <$file> };
my $at = 0;
my $parts = sub { $at += 60000; substr $body, $at - 60000, 60000 };
$statuses{ $http->get('http://127.0.0.1/')->{status} } = 1 for 1 .. 30;
$statuses{ $http->put('http://127.0.0.1/put', { content => $_ })->{status} } = 1 for $body, $parts;
print '[', join(', ', sort keys %statuses), "]\n";
